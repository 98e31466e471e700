"""The service on a Ray cluster: Ray Serve for requests, Ray Data for files. Needs the extra `ray`."""
