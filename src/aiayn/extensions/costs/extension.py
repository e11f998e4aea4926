"""What this folder adds."""

from aiayn.registry import Command, Extension, Plans

EXTENSION = Extension(
    commands={
        "plan": Command(
            "estimate the cost of training: operations, memory, time, disk",
            has_json=True,
            module="aiayn.extensions.costs.plan_command",
            schema="aiayn.extensions.costs.schema:PlanConfig",
            after="prepare",
            finish="aiayn.extensions.costs.plan_report:print_plans",
        ),
        "inspect": Command(
            "show the layers of a model: shapes, parameters, operations, memory, beside base",
            has_json=True,
            module="aiayn.extensions.costs.inspect_command",
            schema="aiayn.extensions.costs.schema:InspectConfig",
            after="plan",
        ),
    },
    contents={
        "inspect": "aiayn.extensions.costs.inspection_report:InspectContent",
        "plan": "aiayn.extensions.costs.plan_report:PlanContent",
    },
    functions={"plan": "aiayn.extensions.costs.api:plan"},
    plans=Plans(
        plan_run="aiayn.extensions.costs.plan:plan_run",
        print_costs="aiayn.extensions.costs.plan_report:print_costs",
        remarks="aiayn.extensions.costs.plan_report:remarks",
    ),
    values=("plan.yaml", "inspect.yaml", "hydra/help/plan.yaml", "hydra/help/inspect.yaml"),
)
