"""Pictures and sound in bytes features: `images.py` and `audio.py`, each with a library of its own.

`batches.py` decodes many values on several threads; `headers.py`, `pixels.py`, `png.py`, `gif.py`
and `pictures.py` are what `images.py` stands on. The names are at the top of the package:
`tfrecs.decode_image`, `tfrecs.encode_image`, `tfrecs.decode_audio`.
"""
