"""The service on a cluster of Ray's: Ray Serve for requests, Ray Data for files. Needs the extra `ray`."""
