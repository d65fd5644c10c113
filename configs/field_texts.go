package configs

import "divisi/internal/spec"

// fieldTexts say to a person at an editor what each field of a role file and of the project file is, by type and field. Plans
// have theirs in PlanSchema.
var fieldTexts = map[string]string{ //nolint:gosec // it tells of secrets, and holds none
	"roleFile.executor": "What carries the role out. In a list the next one takes over when the gates reject its work.",
	"roleFile.output":   "JSON Schema (type object) of what submit_result takes as output.",

	"Role.name":        "Name of the role; default the name of the file.",
	"Role.description": "One line for the people and the master who choose.",
	"Role.command":     "Program and arguments, for executor command; no shell line. {files} is all files of the task.",
	"Role.each":        "Runs the command once for each file of the task; {file} is that file.",
	"Role.model":       "Alias of the project file or name of a model; default the alias default.",
	"Role.fallback":    "Models that stand in, in this order, while the role's own is overloaded.",
	"Role.thinking":    "How much the model thinks; default what its alias says.",
	"Role.tier":        "Service tier; default what the alias says.",
	"Role.tools":       "Tools of the model; default list_files, read_file, search, load_artifact.",
	"Role.include_contents": "What its tasks inherit when they do not say. none: decision record and handoffs. " +
		"full: also the sessions before them.",
	"Role.narrative":   "How other agents are told: between markers (fenced, default) or plain.",
	"Role.inputs":      "What its tasks are given besides depends_on: task ids, id/artifact, or role:NAME.",
	"Role.limits":      "Limits of one attempt; default the project's.",
	"Role.concurrency": "At most so many attempts of the role at once; default no cap.",
	"Role.mcp_servers": "Tool servers by name; an empty definition stands for the project's of that name.",
	"Role.delegates":   "Roles that delegate and transfer may name; default every role that does tasks.",
	"Role.network":     "Opens the network to the role's commands.",
	"Role.loopback":    "Lets commands with the network reach this machine's own addresses through the proxy too.",
	"Role.secrets":     "Variables that only the role's command sees; only in a file that is named with --role.",
	"Role.context":     "What of its history the model is shown.",
	"Role.tool_output": `What becomes of large output, by tool; "*" for all others.`,
	"Role.writes":      "false for a command that only verifies.",

	"Limits.turns": "Model calls.", "Limits.tokens": "Prompt and output tokens, summed.", "Limits.time": "Wall clock, e.g. 30m.",
	"Limits.idle": "How long model or tool may show no sign of life.", "Limits.call": "One model call.",
	"Limits.tool": "One tool call.", "Limits.tool_calls": "Tool calls.",

	"MCPServer.command": "Program and arguments, spoken to over its standard input and output.",
	"MCPServer.env":     "Variables of your environment that the program is given.",
	"MCPServer.url":     "Address of a server that speaks streamable HTTP.",
	"MCPServer.headers": "Headers that are sent, each with the variable that has its value.",
	"MCPServer.tools":   "Only these tools of the server; default all.",
	"MCPServer.timeout": "Bound of one call; default the role's limit for a tool.",

	"ContextRules.last":          "Only the newest N turns of its own history; 0 for all.",
	"ContextRules.drop_tools":    "Tools whose results become handles as soon as one turn has seen them.",
	"ContextRules.drop_after":    "Results become handles when more than N turns came after them; 0 for never.",
	"ContextRules.recall_tokens": "How much of the memory is put into a request unasked; -1 for none.",
	"ContextRules.compaction":    "When old turns become a snapshot, in shares of the model's window.",
	"CompactionRules.start":      "Begins in the background; default 0.4.",
	"CompactionRules.swap":       "Takes its place at the next turn; default 0.5.",
	"CompactionRules.hard":       "Is waited for; default 0.85.",
	"CompactionRules.keep":       "Share of the history that stays as it is; default 0.3.",
	"CompactionRules.overlap":    "Turns of the range before that are summarised again; default 1, -1 for none.",
	"CompactionRules.model":      "Model that writes snapshots; default the alias cheap.",
	"ToolOutput.policy":          "keep: head, tail and a handle. summarize: a summary and the handle. raw: all of it.",
	"ToolOutput.limit":           "Characters above which the policy applies, 1,000 to 40,000.",

	"Project.setup":        "A command that runs once, before the baseline.",
	"Project.loopback":     "Lets setup reach this machine's own addresses through the proxy too.",
	"Project.gates":        "The commands that decide pass or fail, in their order; default detected.",
	"Project.models":       "Names for models; the alias default serves roles that name none.",
	"Project.model_outage": "How long agents wait for a model's service that is away; default 10m.",
	"Project.limits":       "Limits of one attempt where neither task nor role says.",
	"Project.protected":    "Globs that no task changes unless it names them.",
	"Project.env":          "Names of variables that commands may see.",
	"Project.mcp_servers":  "Tool servers that roles can name.",
	"Project.delegation":   "Bounds of what agents ask of other agents.",
	"Project.parallel":     "Attempts at once; --parallel wins.",
	"Project.budget":       "Tokens after which the run stops; --budget wins.",

	"Gate.name": "Name of the gate, unique.", "Gate.command": "Program and arguments; no shell line.",
	"Gate.format":  "What its output speaks; default guessed from the command.",
	"Gate.timeout": "Then it is killed and red; default 15m.",

	"Model.provider": "Who serves the model; default gemini.", "Model.name": "The model's name at its provider.",
	"Model.window": "Input limit in tokens.", "Model.max_output": "Output limit of one call, in tokens.",
	"Model.thinking":   "How much it thinks; default left to the model.",
	"Model.base_url":   "Address of an OpenAI-compatible service, up to and with /v1.",
	"Model.key_env":    "Variable with the service's key, where it wants one.",
	"Model.first_byte": "Longest wait for an answer's first byte, e.g. 90s; default 1m, longer for models that think for long.",
	"Model.silence":    "Longest silence in the middle of an answer; default 1m.",
	"Model.fallback":   "Models that stand in, in this order, while this one is overloaded.",
	"Model.tier":       "Service tier; default left to the service.",
	"Model.price_in":   "USD per million tokens of input.", "Model.price_out": "USD per million tokens of output.",

	"Delegation.depth":   "How many agents may stand above one that was asked for; default 3.",
	"Delegation.fan_out": "How many tasks one agent may have asked for that have not ended; default 8.",
}

// fieldWords are the closed sets of words.
var fieldWords = map[string][]string{
	"roleFile.executor":     {spec.ExecutorModel, spec.ExecutorCommand},
	"Role.thinking":         {"MINIMAL", "LOW", "MEDIUM", "HIGH"},
	"Role.tier":             {spec.TierStandard, spec.TierPriority},
	"Role.tools":            spec.Tools(),
	"Role.include_contents": {string(spec.IncludeNone), string(spec.IncludeFull)},
	"Role.narrative":        {"fenced", "plain"},
	"ToolOutput.policy":     {spec.OutputKeep, spec.OutputSummarize, spec.OutputRaw},
	"Gate.format":           {"go-test-json", "junit", "tap", "text"},
	"Model.provider":        {spec.ProviderGemini, spec.ProviderOpenAI},
	"Model.thinking":        {"MINIMAL", "LOW", "MEDIUM", "HIGH"},
	"Model.tier":            {spec.TierStandard, spec.TierPriority},
}

// fieldNeeded are the fields that cannot be left out.
var fieldNeeded = map[string]bool{"Gate.name": true, "Gate.command": true, "Model.name": true}

// fieldLeast are the least values of numbers.
var fieldLeast = map[string]int{
	"Delegation.depth": 1, "Delegation.fan_out": 1, "Project.parallel": 0, "Project.budget": 0, "Role.concurrency": 0,
	"Limits.turns": 0, "Limits.tokens": 0, "Limits.tool_calls": 0,
	"Model.window": 0, "Model.max_output": 0, "Model.price_in": 0, "Model.price_out": 0,
	"ContextRules.last": 0, "ContextRules.drop_after": 0, "ContextRules.recall_tokens": -1, "CompactionRules.overlap": -1,
}
