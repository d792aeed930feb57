"""The commands of operators: servers, roots, policies, logs, settings, scenario files, the demo."""
