package acts

// actHelp replaces the words of the table of acts in the help of a command.
type actHelp struct{ short, long, example string }

// actHelps are those of commands that are made of the table, by the name of the act.
var actHelps = map[string]actHelp{
	"skip": {
		"Skip tasks and unblock what depends on them",
		`Skip tasks that have not landed, parked ones too. Tasks that depend on them continue as if they had
ended without a change, and a run does not end as parked because of them. A template's name means its
tasks that have not landed. TASK alone is a task of the newest run. Continue a run that has ended with
divisi resume.`,
		"  divisi skip 1f2e rewrite-003 --reason 'this file will be deleted'",
	},
	"pause": {
		"Pause a run once agents finish their current turn",
		`Dispatch nothing more, let agents finish their turn and commands and gates end, then stop the run.
divisi resume continues it. Ctrl-C where it runs stops it at once. Without RUN, the newest run.`,
		"  divisi pause\n  divisi pause 1f2e && divisi watch 1f2e",
	},
	"stop_line": {
		"Let nothing be dispatched, and nothing land",
		"Stop dispatch and landing. Without RUN, the newest run.",
		"  divisi line stop 1f2e --reason 'the tests are wrong'",
	},
	"start_line": {
		"Resume dispatch and landing", "Resume dispatch and landing. Without RUN, the newest run.",
		"  divisi line start 1f2e",
	},
}
