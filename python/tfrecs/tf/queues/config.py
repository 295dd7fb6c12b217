"""`tf.ConfigProto` and its like: what they ask for is kept, and changes nothing here."""

from __future__ import annotations

from typing import Any, ClassVar


class _Message:
    """A message whose fields are those that TensorFlow's has, with their defaults."""

    fields: ClassVar[dict[str, Any]] = {}

    def __init__(self, **given: Any) -> None:
        """Set fields.

        Raises:
            ValueError: There is no field of that name.
        """
        for name, value in given.items():
            if name not in self.fields:
                raise ValueError(self._no_field(name))
            setattr(self, name, value)

    def _no_field(self, name: str) -> str:
        return f'Protocol message {type(self).__name__} has no "{name}" field.'

    def __getattr__(self, name: str) -> Any:
        """Return a field that was not set: its default, or a message to set fields of."""
        if name not in self.fields:
            raise AttributeError(self._no_field(name), name=name)
        default = self.fields[name]
        value = default() if callable(default) else default
        object.__setattr__(self, name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a field.

        Raises:
            AttributeError: There is no field of that name.
        """
        if name not in self.fields:
            raise AttributeError(self._no_field(name), name=name)
        object.__setattr__(self, name, value)


class _Free:
    """A message of many fields that nobody checks: it has whatever is set, and is 0 elsewhere."""

    def __getattr__(self, name: str) -> Any:
        """Return 0: the default of fields."""
        if name.startswith("__"):
            raise AttributeError(name)
        return 0


class GPUOptions(_Message):
    """As `tf.GPUOptions`: nothing here takes a GPU."""

    fields: ClassVar[dict[str, Any]] = {
        "allocator_type": "",
        "allow_growth": False,
        "deferred_deletion_bytes": 0,
        "experimental": _Free,
        "force_gpu_compatible": False,
        "per_process_gpu_memory_fraction": 0.0,
        "polling_active_delay_usecs": 0,
        "polling_inactive_delay_msecs": 0,
        "visible_device_list": "",
    }


class OptimizerOptions(_Message):
    """As `tf.OptimizerOptions`: there are no graphs to make faster."""

    L1, L0 = 0, -1
    DEFAULT, OFF, ON_1, ON_2 = 0, -1, 1, 2
    fields: ClassVar[dict[str, Any]] = {
        "cpu_global_jit": False,
        "do_common_subexpression_elimination": False,
        "do_constant_folding": False,
        "do_function_inlining": False,
        "global_jit_level": 0,
        "max_folded_constant_in_bytes": 0,
        "opt_level": 0,
    }


class GraphOptions(_Message):
    """As `tf.GraphOptions`."""

    fields: ClassVar[dict[str, Any]] = {
        "build_cost_model": 0,
        "build_cost_model_after": 0,
        "enable_bfloat16_sendrecv": False,
        "enable_recv_scheduling": False,
        "infer_shapes": False,
        "optimizer_options": OptimizerOptions,
        "place_pruned_graph": False,
        "rewrite_options": _Free,
        "timeline_step": 0,
    }


class ConfigProto(_Message):
    """As `tf.ConfigProto`, what a session is configured by.

    Example:
        >>> from tfrecs import tf
        >>> config = tf.ConfigProto(allow_soft_placement=True)
        >>> config.gpu_options.allow_growth = True
        >>> with tf.Session(config=config) as sess:
        ...     print(sess.run(tf.constant(1)))
        1
    """

    fields: ClassVar[dict[str, Any]] = {
        "allow_soft_placement": False,
        "cluster_def": _Free,
        "device_count": dict,
        "device_filters": list,
        "experimental": _Free,
        "gpu_options": GPUOptions,
        "graph_options": GraphOptions,
        "inter_op_parallelism_threads": 0,
        "intra_op_parallelism_threads": 0,
        "isolate_session_state": False,
        "log_device_placement": False,
        "operation_timeout_in_ms": 0,
        "placement_period": 0,
        "rpc_options": _Free,
        "session_inter_op_thread_pool": list,
        "share_cluster_devices_in_session": False,
        "use_per_session_threads": False,
    }


class RunOptions(_Message):
    """As `tf.RunOptions`: nothing is traced."""

    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = 0, 1, 2, 3
    fields: ClassVar[dict[str, Any]] = {
        "debug_options": _Free,
        "experimental": _Free,
        "inter_op_thread_pool": 0,
        "output_partition_graphs": False,
        "report_tensor_allocations_upon_oom": False,
        "timeout_in_ms": 0,
        "trace_level": 0,
    }


class RunMetadata(_Free):
    """As `tf.RunMetadata`: it stays empty."""
