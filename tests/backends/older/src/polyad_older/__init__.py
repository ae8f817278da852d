"""Backends of third parties who wrote for a past version of the interface and never came back.

Each is the example of its day, which is not touched any more: a change of core that breaks one breaks somebody's. Only
names, versions and features were filled in, the latter from what the documentation of that day listed.

    v1_0    the guide's, before there was a template: memory, and the kernels "add" and "mul"
    v1_1    the template, whose kernels give their results' dtypes themselves
    v1_2    the template with `cast_by_rule`
    v1_3    the same template; what 1.3 brought is optional

When `polyad.backend.API_VERSION` rises, freeze the template that was: copy it here and add it to pyproject.toml.
"""
