package configs

// PlanSchema returns the JSON Schema of a plan, for the parameters of the dispatch tool. It is flat and holds no bounds:
// models are served badly with deep or bounded schemas. What it does not say, Plan.Validate does. The caller owns the value.
func PlanSchema() map[string]any {
	return object(fields{
		"goal":            text("What the whole plan is for, in one sentence."),
		"decision_record": text("Names, API shapes and style that every writer follows, decided once. Copied word for word."),
		"constraints":     texts("Rules that hold for every task. Copied word for word."),
		"tasks": map[string]any{
			"type": "array", "description": "The tasks. Those that do not wait for each other run at the same time.",
			"items": taskSchema(),
		},
	}, "tasks")
}

func taskSchema() map[string]any {
	return object(fields{
		"id":          text("Short unique id: letters, digits, - and _, no --."),
		"title":       text("A few words for the people who watch."),
		"role":        text("Who does it, e.g. reader or generator."),
		"brief":       text("Everything the agent must know to do the task: it sees nothing else of your conversation."),
		"constraints": texts("Rules for this task. Copied word for word; its agent says of each whether it was kept."),
		"files":       texts("Write set: paths and globs that the task may change. Keep the write sets of tasks apart."),
		"inputs": texts("What the agent gets: task for a task's whole handoff, task/artifact for that artifact of it alone. " +
			"Default: depends_on."),
		"depends_on": texts("Ids of tasks that must be over before this one starts."),
		"include_contents": map[string]any{
			"type": "string", "enum": []any{"none", "full"},
			"description": "none: decision record and handoffs. full: also your session and those of its inputs. Default none.",
		},
		"last":       integerField("With full: only the last N events."),
		"max_tokens": integerField("With full: at most this many tokens, the oldest go first."),
		"gates":      texts("Names of the project's gates to run. Default: all."),
		"verify":     text("Role that verifies the patch. Default tester."),
		"attempts":   integerField("How often it is tried, 1 to 10. Default 3."),
		"limits": object(fields{
			"turns": integerField("Model calls."), "tokens": integerField("Prompt and output tokens, summed."),
			"time": text("Wall clock, e.g. 10m."), "tool_calls": integerField("Tool calls."),
			"idle": text("Without a sign of life of model or tool."),
			"call": text("One model call."), "tool": text("One tool call."),
		}),
		"shard": shardSchema(),
		"remaining": map[string]any{
			"type": "string", "enum": []any{"ok"},
			"description": "With shard.match: ok lets files match it after the task too. Default: the task fails then.",
		},
		"command": texts("Program and arguments, for roles that run a command."),
	}, "id", "role", "brief")
}

func shardSchema() map[string]any {
	schema := object(fields{
		"by": map[string]any{
			"type": "string", "enum": []any{"file", "dir", "package", "command"},
			"description": "What one task gets: a file, a directory, a package, or a line that command prints.",
		},
		"match":     text("RE2 expression that a file's content must match."),
		"glob":      text("Only files whose path matches, e.g. internal/**/*.go."),
		"max_files": integerField("At most this many files in one task."),
		"command":   texts("With by command: prints one shard a line, paths separated by spaces."),
		"include_protected": map[string]any{
			"type": "boolean", "description": "The tasks may change protected files too, such as tests. Default: " +
				"those are left out.",
		},
	}, "by")
	schema["description"] = "Makes the task a template: code expands it to one task per shard. Use it for many alike files."
	return schema
}

type fields map[string]any

func object(properties fields, required ...string) map[string]any {
	schema := map[string]any{
		"type": "object", "properties": map[string]any(properties), "additionalProperties": false,
	}
	if len(required) > 0 {
		names := make([]any, len(required))
		for i, name := range required {
			names[i] = name
		}
		schema["required"] = names
	}
	return schema
}

func text(description string) map[string]any {
	return map[string]any{"type": "string", "description": description}
}

func integerField(description string) map[string]any {
	return map[string]any{"type": "integer", "description": description}
}

func texts(description string) map[string]any {
	return map[string]any{"type": "array", "description": description, "items": map[string]any{"type": "string"}}
}
