package configs

import (
	"os"
	"strings"

	"divisi/internal/spec"
)

// taskPrompt is the instruction of a coding agent that does tasks; the task comes on its standard input.
const taskPrompt = `` +
	`The JSON before or after this is one task. Do what its brief says, keep its constraints, and change only its files.
Where prior is not empty, an attempt failed before: begin with its fault. Do not commit. Ask no questions: no person reads them.`

// agentPrompts are the instructions of a coding agent in the place of each built-in role that it takes.
var agentPrompts = map[string]string{
	spec.RoleMaster: `You plan a change of the code in this directory. The JSON before or after this has your instruction, the
conversation so far, the calls that you can answer with, and the form of your answer. Read the code as you need it, change
nothing, and end with that one JSON object. Ask no questions but by a call: no person reads them.`,
	spec.RoleReader: `The JSON before or after this is a question about the code in this directory: its brief. Answer with facts
and their places (path:line), exact names and counts. Change nothing. Ask no questions: no person reads them.`,
	spec.RoleGenerator: taskPrompt,
	spec.RoleTests: taskPrompt + `
Write tests alone, and change no other file: each must fail with a small fault of the code that it tests.`,
}

// readOnly puts, for each coding agent that can, what keeps it from changing files in the place of what lets it. What it changes
// all the same is lost with its tree.
var readOnly = map[string]*strings.Replacer{
	spec.AgentClaude:   strings.NewReplacer("=acceptEdits", "=default", "Read,Edit,Write,Glob,Grep,Bash", "Read,Glob,Grep"),
	spec.AgentGemini:   strings.NewReplacer("--approval-mode=yolo", "--approval-mode=plan"),
	spec.AgentOpencode: strings.NewReplacer("auto\n", "agent=plan\n"),
}

// AgentStarter returns the text of a role file with which a coding agent, one of spec.CodingAgents, does tasks. The error is a
// *FileError for a name that no role can have.
func AgentStarter(agent, name string) (string, error) { return agentFile(agent, name, taskPrompt) }

func agentFile(agent, name, prompt string) (string, error) {
	return starter("agents/"+agent+".md", name, "PROMPT", ">-\n    "+strings.ReplaceAll(prompt, "\n", "\n    "))
}

// UseAgent has a coding agent plan, read, write and test in the place of the built-in roles, and leaves out every role of a
// model.
func (s *RoleSet) UseAgent(agent string) error {
	for name, role := range s.Roles {
		if role.Runs(spec.ExecutorModel) {
			delete(s.Roles, name)
		}
	}
	for name, prompt := range agentPrompts {
		text, err := agentFile(agent, name, prompt)
		if err != nil {
			return err
		}
		if only := readOnly[agent]; only != nil && (name == spec.RoleMaster || name == spec.RoleReader) {
			text = only.Replace(text)
		}
		role, err := ParseRole(name+".md", text)
		if err != nil {
			return err
		}
		key, login := role.Secrets[0], spec.GatewayVarsOf(role.Gateway).Login
		if agent == spec.AgentClaude && os.Getenv(key) == "" && os.Getenv(login) != "" {
			role.Secrets = []string{login} // a login is for the program of its service alone
		}
		was := s.builtIn[name]
		role.Description, role.Proves, role.Instruction = was.Description, was.Proves, was.Instruction
		role.Writes = role.Writes && name != spec.RoleReader
		// As a file that a person named, and that cannot be changed.
		role.Source, role.Named = "the coding agent "+agent, "/dev/null/"+agent
		s.Roles[name] = role
	}
	return nil
}
