# RIDGE_WHEEL: what pip builds from pyproject.toml: libridge_ops alone, inside of the Python package.
install(FILES $<TARGET_FILE:ridge_ops> DESTINATION ridge RENAME libridge_ops.so COMPONENT wheel)
