// Package geminitest serves a strict Gemini API from a script: over HTTP for whole programs, or call by call for a model without
// a network. What it answers depends on the task and the turn that ask, never on the order of arrival, so that parallel agents
// get the same answers in every run. Every breach of the API's rules is refused and recorded.
//
// A script is YAML or JSON:
//
//	rules:
//	  - task: "rename-*"          # * and ? stand for any text, any letter; empty means every task
//	    attempt: 1                # empty means every attempt
//	    turn: 1                   # the turn that the first step answers; default 1
//	    purpose: turn             # default turn; "*" means any
//	    match: 'regular expression that the request text must match'
//	    repeat: true              # the last step answers all later turns
//	    steps:
//	      - thought: "I read the file first."
//	        calls:
//	          - {name: read_file, args: {path: '{{capture "File: (\\S+)"}}'}}
//	      - fault: 503            # two tries fail, the third is answered
//	        times: 2
//	        text: "done with {{task}}"
//
// The first rule that matches and has a step for the turn answers. Task, attempt, turn and purpose come from the
// X-Divisi headers; without them the task is read from a line "Task: ID" of the first user content (the attempt from
// "Attempt: N"), or from the JSON that a role's command reads, which a coding agent passes on. The turn is then the number of
// model contents plus one. Text and arguments are Go templates with task, attempt, turn, model, item,
// capture, captureAll, captureLast, result, replace, lower, upper.
package geminitest
