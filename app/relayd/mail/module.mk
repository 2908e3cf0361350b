$(call room,mail,host,rdconf relay suci base,)
