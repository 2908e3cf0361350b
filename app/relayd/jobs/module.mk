$(call room,jobs,circuits mail loop host,rdconf relay impi light sucaead seal suci rddpdk base,libdpdk libbsd)
