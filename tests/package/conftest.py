"""What is delivered: the pkg-config file, setup, scripts and documents."""
