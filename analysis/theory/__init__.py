"""The papers' closed forms: what is drawn under the measured points.

CAMCAST's Section 4 and daMulticast's Section VI with its appendix, one idea a module, as pure
functions of numbers. Each says which equation it is, and whether it is the paper's or ours.

The two papers write the same things differently. Here, as in CAMCAST: N is a community's size
(daMulticast: S), x the number of communities on the way from the publication's to the root
(daMulticast: t), C the number of clusters of hierarchical gossip (daMulticast: N), n the number of
all processes. daMulticast calls its root T0 and its lowest topic Tt, which would be t+1 groups, but
multiplies by t and counts T0, T1, T2 as t = 3 (VII-A): t is the number of groups.
"""
