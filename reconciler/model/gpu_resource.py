"""Is this resource a GPU, or a part of one?"""

from reconciler.model import names


def is_gpu(resource: str, gpu_resource: str) -> bool:
    """Whole GPUs, slices and MIG devices. `gpu_resource`: what people call whole ones here (capacity.gpu_resource)."""
    whole_or_slice = resource in (gpu_resource, names.GPU_RESOURCE, names.GPU_SHARED_RESOURCE)
    return whole_or_slice or resource.startswith(names.MIG_RESOURCES)
