"""Files of records: read, write, index, salvage; sets of shards and their manifests.

A record is bytes here; nothing looks inside one. Uses `storage` and `_internal`.
"""
