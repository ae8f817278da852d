"""The containers behave as sequences and mappings, and what they hold is registered."""

from collections import OrderedDict

import pytest

import polyad
from polyad import nn


class Add(nn.Module):
    def __init__(self, amount):
        super().__init__()
        self.amount = amount

    def forward(self, input):
        return input + self.amount

    def extra_repr(self):
        return str(self.amount)


def amounts(modules):
    return [module.amount for module in modules]


def names(module):
    return list(module._modules)


class TestSequential:
    def test_runs_in_order(self):
        class Double(nn.Module):
            def forward(self, input):
                return input * 2

        assert nn.Sequential(Add(1), Double(), Add(3))(1) == 7
        assert nn.Sequential()(5) == 5

    def test_from_an_ordered_dict(self):
        model = nn.Sequential(OrderedDict(first=Add(1), second=Add(2)))
        assert names(model) == ["first", "second"]
        assert model.second.amount == 2
        assert model[0] is model.first

    @pytest.mark.parametrize("bad", [3, [Add(1)], Add])
    def test_takes_modules_only(self, bad):
        with pytest.raises(TypeError, match="Module"):
            nn.Sequential(bad)

    def test_indexing(self):
        model = nn.Sequential(Add(1), Add(2), Add(3))
        assert model[-1].amount == 3
        assert amounts(model[1:]) == [2, 3]
        assert model[1:][0] is model[1]
        assert isinstance(model[:1], nn.Sequential)
        for bad in (3, -4):
            with pytest.raises(IndexError, match="out of range"):
                model[bad]
        with pytest.raises(TypeError, match="index"):
            model["0"]

    def test_slices_keep_names(self):
        model = nn.Sequential(OrderedDict(first=Add(1), second=Add(2)))
        assert names(model[1:]) == ["second"]

    def test_changing(self):
        model = nn.Sequential(Add(1), Add(2))
        assert model.append(Add(3)) is model
        model.insert(0, Add(0))
        assert amounts(model) == [0, 1, 2, 3]
        assert names(model) == ["0", "1", "2", "3"]
        model[1] = Add(10)
        del model[0]
        assert amounts(model) == [10, 2, 3]
        assert names(model) == ["0", "1", "2"]
        assert model.pop(-1).amount == 3
        model.extend([Add(4), Add(5)])
        assert amounts(model) == [10, 2, 4, 5]
        del model[1:3]
        assert amounts(model) == [10, 5]
        with pytest.raises(IndexError):
            model.insert(7, Add(1))
        with pytest.raises(TypeError):
            model.append(3)
        with pytest.raises(TypeError):
            model[0] = "no module"
        assert amounts(model) == [10, 5]

    def test_deleting_keeps_given_names(self):
        model = nn.Sequential(OrderedDict(first=Add(1), second=Add(2), third=Add(3)))
        del model[1]
        assert names(model) == ["first", "third"]

    def test_arithmetic(self):
        one, two = nn.Sequential(Add(1)), nn.Sequential(Add(2))
        assert amounts(one + two) == [1, 2]
        assert amounts(one * 3) == amounts(3 * one) == [1, 1, 1]
        assert amounts(one) == [1]
        one += two
        one *= 2
        assert amounts(one) == [1, 2, 1, 2]
        two += two
        assert amounts(two) == [2, 2]
        with pytest.raises(ValueError, match="Sequential"):
            one + 3
        with pytest.raises(ValueError, match="positive"):
            one * 0
        with pytest.raises(TypeError, match="int"):
            one * 1.5

    def test_parameters_are_registered(self):
        assert len(list(nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1)).parameters())) == 4


class TestModuleList:
    def test_as_a_list(self):
        modules = nn.ModuleList([Add(1), Add(2)])
        assert len(modules) == 2
        assert amounts(modules) == [1, 2]
        modules.append(Add(3)).extend([Add(4)])
        modules += [Add(5)]
        modules.insert(1, Add(9))
        assert amounts(modules) == [1, 9, 2, 3, 4, 5]
        assert names(modules) == ["0", "1", "2", "3", "4", "5"]
        del modules[0], modules[-1]
        assert amounts(modules) == [9, 2, 3, 4]
        assert names(modules) == ["0", "1", "2", "3"]
        assert modules.pop(1).amount == 2
        assert amounts(modules[1:]) == [3, 4]
        assert amounts(modules + nn.ModuleList([Add(7)])) == [9, 3, 4, 7]
        assert modules[-3].amount == 9
        modules[0] = Add(8)
        assert amounts(modules) == [8, 3, 4]

    def test_errors_change_nothing(self):
        modules = nn.ModuleList([Add(1)])
        with pytest.raises(TypeError):
            modules.extend([Add(2), 3])
        assert amounts(modules) == [1]
        with pytest.raises(TypeError):
            nn.ModuleList(3)
        with pytest.raises(IndexError):
            modules[1]
        with pytest.raises(NotImplementedError):
            modules(1)

    def test_repr_counts_repetitions(self):
        assert repr(nn.ModuleList([Add(1), Add(1), Add(2)])) == "ModuleList(\n  (0-1): 2 x Add(1)\n  (2): Add(2)\n)"
        assert repr(nn.ModuleList()) == "ModuleList()"
        nested = nn.ModuleList([nn.Sequential(Add(1))] * 2)
        assert repr(nested) == "ModuleList(\n  (0-1): 2 x Sequential(\n    (0): Add(1)\n  )\n)"


class TestModuleDict:
    def test_as_a_dict(self):
        modules = nn.ModuleDict({"a": Add(1)})
        modules["b"] = Add(2)
        modules.update([("c", Add(3)), ["a", Add(4)]])
        modules.update(nn.ModuleDict({"d": Add(5)}))
        assert list(modules) == list(modules.keys()) == ["a", "b", "c", "d"]
        assert amounts(modules.values()) == [4, 2, 3, 5]
        assert dict(modules.items())["d"].amount == 5
        assert "a" in modules
        assert len(modules) == 4
        assert modules.pop("a").amount == 4
        del modules["b"]
        assert list(modules) == ["c", "d"]
        modules.clear()
        assert len(modules) == 0

    @pytest.mark.parametrize(
        ("bad", "error"), [(3, TypeError), ([("a",)], ValueError), ([3], TypeError), ({3: Add(1)}, TypeError)]
    )
    def test_errors(self, bad, error):
        with pytest.raises(error, match=r"ModuleDict|register_module"):
            nn.ModuleDict(bad)

    def test_values_must_be_modules(self):
        modules = nn.ModuleDict({"a": Add(1)})
        with pytest.raises(TypeError):
            modules.update({"b": 3})
        with pytest.raises(KeyError):
            modules["b"]
        with pytest.raises(KeyError):
            modules.pop("b")
        assert list(modules) == ["a"]


class TestParameterList:
    def test_tensors_become_parameters(self):
        values = nn.ParameterList([polyad.zeros(2), nn.Parameter(polyad.ones(3)), "text"])
        assert [type(value).__name__ for value in values] == ["Parameter", "Parameter", "str"]
        assert list(values.state_dict()) == ["0", "1"]
        assert len(list(values.parameters())) == 2
        assert values[-1] == "text"
        assert len(values[:2]) == 2

    def test_changing(self):
        values = nn.ParameterList([polyad.zeros(2)])
        values.append(polyad.ones(1)).extend([polyad.ones(3)])
        values += [polyad.ones(4)]
        values[0] = polyad.ones(5)
        assert [len(value) for value in values] == [5, 1, 3, 4]
        with pytest.raises(IndexError):
            values[4]
        with pytest.raises(TypeError):
            values.extend(3)

    def test_repr(self):
        assert repr(nn.ParameterList([polyad.zeros(2), "s"])) == (
            "ParameterList(\n    (0): Parameter containing: [polyad.float32 of size 2]\n    (1): Object of type: str\n)"
        )


def test_none_keeps_a_place_free():
    modules = nn.ModuleList([Add(1), None]).append(None).extend([Add(2), None])
    modules.insert(0, None)
    modules[1] = None
    assert [module and module.amount for module in modules] == [None, None, None, None, 2, None]
    assert modules.to(polyad.float64) is modules
    assert list(modules.state_dict()) == []
    assert list(modules.children()) == [modules[4]]
    assert repr(modules[3:]) == "ModuleList(\n  (0): None\n  (1): Add(2)\n  (2): None\n)"
    assert modules.pop(5) is None
    assert nn.Sequential(Add(1)).append(None)[1] is None
    with pytest.raises(TypeError, match="a module is None"):
        nn.Sequential(Add(1), None)(polyad.zeros(1))
    with pytest.raises(TypeError, match="module is str, not a Module"):
        nn.ModuleList([Add(1), "2"])


def test_parameters_of_a_dict_are_sorted_by_name():
    pairs = [("b", polyad.ones(1)), ("a", polyad.zeros(1))]
    assert list(nn.ParameterDict(dict(pairs))) == ["a", "b"]
    assert [name for name, _ in nn.ParameterDict(dict(pairs)).named_parameters()] == ["a", "b"]
    for ordered in (pairs, OrderedDict(pairs), nn.ParameterDict(pairs)):
        assert list(nn.ParameterDict(ordered)) == ["b", "a"]
    assert list(nn.ParameterDict(pairs).copy()) == ["b", "a"]
    assert list(nn.ParameterDict().fromkeys("ba")) == ["b", "a"]
