$(call prog,impi-server,$(wildcard app/impi-server/*.c),impi base,libbsd-overlay)
