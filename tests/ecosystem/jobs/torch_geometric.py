"""torch_geometric: layers by edge index and by sparse adjacency, dense ones, pooling, batches, loaders."""

from __future__ import annotations

import torch_geometric.nn as layers
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.utils import add_self_loops, degree, softmax, to_dense_adj, to_undirected

from ..job import Run, job

PACKAGE = "torch-geometric"
SPARSE = ("GCNConv", "SAGEConv", "GraphConv", "ChebConv", "TAGConv", "SGConv", "ARMAConv", "LEConv", "ClusterGCNConv")
MESSAGES = ("GATConv", "GATv2Conv", "TransformerConv", "ResGatedGraphConv", "FeaStConv", "SuperGATConv", "GENConv")


def graph(run: Run) -> tuple[object, object]:
    return run.normal(8, 4), to_undirected(run.integers(8, 2, 14))


@job("layers by edge index, with gradients")
def messages(run: Run) -> None:
    torch = run.torch
    x, edges = graph(run)
    for name in (*SPARSE, *MESSAGES):
        options = {"K": 2} if name in ("ChebConv", "TAGConv") else {}
        layer = run.same(getattr(layers, name)(4, 5, **options)).eval()
        out = layer(x, edges)
        run.record(name, out, depth=8)
        found = torch.autograd.grad(out.square().sum(), list(layer.parameters()), allow_unused=True)
        # Together: that of a key's bias is nothing but rounding.
        whole = torch.cat([one.reshape(-1) for one in found if one is not None])
        run.record(f"{name}'s gradient", whole, depth=32)


@job("layers by sparse adjacency: COO and CSR")
def adjacency(run: Run) -> None:
    torch = run.torch
    x, edges = graph(run)
    coo = torch.sparse_coo_tensor(edges, torch.ones(edges.shape[1]), (8, 8)).coalesce()
    for name in ("GCNConv", "SAGEConv", "GraphConv"):
        layer = run.same(getattr(layers, name)(4, 5))
        for layout, matrix in (("COO", coo), ("CSR", coo.to_sparse_csr())):
            run.record(f"{name} {layout}", layer(x, matrix.t() if layout == "COO" else matrix), depth=8)


@job("dense layers, pooling, norms, a model trained")
def dense(run: Run) -> None:
    torch = run.torch
    x, edges = graph(run)
    stacked = to_dense_adj(edges)
    for name in ("DenseGCNConv", "DenseSAGEConv", "DenseGraphConv"):
        run.record(name, run.same(getattr(layers, name)(4, 5))(x.unsqueeze(0), stacked), depth=8)
    run.record("diffpool", layers.dense_diff_pool(x.unsqueeze(0), stacked, run.normal(1, 8, 3)), depth=16)
    batch = torch.tensor([0, 0, 0, 1, 1, 1, 1, 2])
    for name in ("global_mean_pool", "global_max_pool", "global_add_pool"):
        run.record(name, getattr(layers, name)(x, batch))
    for name in ("BatchNorm", "GraphNorm", "InstanceNorm", "LayerNorm", "PairNorm"):
        layer = getattr(layers, name)(*(() if name == "PairNorm" else (4,)))
        run.record(name, layer(x) if name == "BatchNorm" else layer(x, batch), depth=8)
    run.record("topk", list(run.same(layers.TopKPooling(4))(x, edges)[1].shape))
    run.record("softmax", softmax(x[edges[0]], edges[1]), depth=4)
    run.record("degree", degree(add_self_loops(edges)[0][0]))
    model = run.same(layers.GraphSAGE(4, 8, num_layers=2, out_channels=3))
    wanted = run.integers(3, 8)
    run.train(model, lambda model: torch.nn.functional.cross_entropy(model(x, edges), wanted), optimizer="Adam")


@job("batches, loaders, several kinds of nodes")
def batches(run: Run) -> None:
    torch = run.torch
    graphs = [Data(x=run.normal(n, 3, seed=n), edge_index=run.integers(n, 2, 5, seed=n)) for n in (3, 4, 5)]
    joined = Batch.from_data_list(graphs)
    run.record("joined", [joined.x, joined.edge_index, joined.batch, joined.ptr])
    for number, one in enumerate(DataLoader(graphs, batch_size=2)):
        run.record(f"batch {number}", [one.x, one.edge_index, one.batch])
    run.record("apart", [one.x for one in joined.to_data_list()])
    features = {"a": run.normal(4, 3), "b": run.normal(5, 3)}
    kinds = {("a", "to", "b"): run.integers(4, 2, 6), ("b", "to", "a"): run.integers(4, 2, 6, seed=1)}
    hetero = layers.HeteroConv({kind: layers.SAGEConv((3, 3), 2) for kind in kinds})
    run.record("kinds", run.same(hetero)(features, kinds), depth=8)
    lstm = layers.aggr.LSTMAggregation(3, 4)
    order = torch.tensor([0, 0, 1, 1, 1])
    run.record("aggregated", run.same(lstm)(features["b"], order), depth=16)
