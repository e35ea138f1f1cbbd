from setuptools import Extension, setup

setup(ext_modules=[Extension("inventory", ["inventory.c"], depends=["inventory.h"])])
