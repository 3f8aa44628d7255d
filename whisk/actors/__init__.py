"""Ray-style local actors on pykka and gevent: who owns what, and in which order things happen."""
