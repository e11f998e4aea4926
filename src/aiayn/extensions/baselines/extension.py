"""What this folder adds."""

from aiayn.registry import Extension, Model

EXTENSION = Extension(
    models={
        "recurrent": Model(
            schema="aiayn.extensions.baselines.schema:RecurrentConfig",
            model="aiayn.extensions.baselines.recurrent:RecurrentTranslator",
        ),
        "convolutional": Model(
            schema="aiayn.extensions.baselines.schema:ConvolutionalConfig",
            model="aiayn.extensions.baselines.convolutional:ConvolutionalTranslator",
        ),
    },
    sweeps=("baselines.yaml",),
    values=("model/recurrent.yaml", "model/convolutional.yaml", "experiment/baselines"),
)
