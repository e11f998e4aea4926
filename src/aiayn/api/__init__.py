"""The commands as functions, for Python programs and notebooks; `import aiayn` names them."""
