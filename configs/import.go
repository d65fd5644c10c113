package configs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
)

// importer makes a role of a file that was written for another program.
type importer struct {
	*dialect
	foreign
	role spec.Role
	// all are the tools of an agent that lists none, project is where models and MCP servers are defined.
	all     []string
	project *spec.Project
	// renamed are the tools whose names differ, theirs to ours.
	renamed map[string]string
}

// importAgent reads an agent. What cannot be honoured is a notice of the role. An error gives the reason why there is no role at
// all; the role then has its name alone.
func importAgent(by *dialect, file, text string, all []string, project *spec.Project) (spec.Role, error) {
	front, body, ok := frontMatter(strings.Split(strings.TrimPrefix(text, mark), "\n"))
	im := importer{
		dialect: by, foreign: readForeign(strings.ToValidUTF8(front, "")), all: all, project: project,
		renamed: map[string]string{}, role: spec.Role{
			Executor: spec.ExecutorModel, IncludeContents: spec.IncludeNone, Narrative: "fenced", Source: file,
		},
	}
	im.names(file)
	nothing := spec.Role{Name: im.role.Name}
	switch {
	case !ok:
		return nothing, fmt.Errorf("it has no front matter, as an agent of %s has", by.program)
	case im.list || im.remote():
		return nothing, fmt.Errorf("it is a remote agent of %s: another machine serves it, and no agent here calls one",
			by.program)
	case strings.TrimSpace(body) == "":
		return nothing, errors.New("it has no instruction below its front matter")
	case spec.BuiltInRole(im.role.Name):
		return nothing, fmt.Errorf("role %s is built in, and an imported agent never replaces it: give the agent another name, "+
			"or write %s/%s.md", im.role.Name, RolesDir, im.role.Name)
	}
	if im.loose {
		im.noticef("its front matter is no YAML, and was read line by line")
	}
	im.tools()
	im.model()
	im.limits()
	im.rest()
	im.refusals()
	im.instruct(body)
	if problems := im.role.Validate(spec.Env{}); len(problems) > 0 {
		return nothing, fmt.Errorf("%s", printable(problems[0].String(), maxMessage))
	}
	return im.role, nil
}

// remote reports whether another machine serves the agent: the file says so, or names the card of one.
func (im *importer) remote() bool {
	for name := range im.fields {
		if strings.HasPrefix(strings.ReplaceAll(strings.ToLower(name), "_", ""), "agentcard") {
			return true
		}
	}
	return strings.EqualFold(im.text("kind"), "remote")
}

func (im *importer) noticef(format string, args ...any) {
	const most = 40 // a file that is foreign everywhere is no better explained by more
	if len(im.role.Notices) < most {
		im.role.Notices = append(im.role.Notices, printable(fmt.Sprintf(format, args...), maxSource))
	}
}

var (
	notInRole = lazyregexp.New(`[^a-z0-9_]+`)
	blanks    = lazyregexp.New(`\s+`)
)

// maxRoleName and maxDescription bound, in characters, what a role has; descriptions of other programs hold whole dialogues.
const (
	maxRoleName    = 32
	maxDescription = 300
)

// slug is the nearest name that a role can have; empty where there is none.
func slug(name string) string {
	name = strings.TrimLeft(notInRole.ReplaceAllLiteralString(strings.ToLower(name), "-"), "-_0123456789")
	return strings.TrimRight(name[:min(len(name), maxRoleName)], "-_")
}

func (im *importer) names(file string) {
	name := im.text("name")
	im.role.Name = cmp.Or(slug(name), slug(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))))
	if name != "" && name != im.role.Name {
		im.noticef("name: %q is written %q here", name, im.role.Name)
	}
	text := strings.ReplaceAll(im.text("description"), `\n`, "\n")
	if at := strings.Index(text, "<example>"); at > 0 {
		text = text[:at]
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n\n")
	text = strings.TrimSuffix(strings.TrimSpace(blanks.ReplaceAllLiteralString(text, " ")), " Examples:")
	im.role.Description = printable(text, maxDescription)
}

// tools maps the tools; an agent that lists none has those of a generator.
func (im *importer) tools() {
	wanted, given := im.words("tools")
	for _, name := range wanted {
		im.tool(name)
	}
	if !given {
		im.role.Tools = slices.Clone(im.all)
	}
	if im.text("permissionMode") == "plan" {
		im.noticef("permissionMode: plan is kept by leaving out every tool that writes or runs commands")
		im.drop(func(tool string) bool { return spec.WritingTool(tool) || tool == spec.ToolRunCommand })
	} else if mode := im.text("permissionMode"); mode != "" {
		im.noticef("permissionMode: agents ask for no permission here; commands are confined instead")
	}
}

// refusals take tools away again, but for load_artifact: nothing else shows long output.
func (im *importer) refusals() {
	refused, _ := im.words("disallowedTools")
	for _, name := range refused {
		im.refuse(name)
	}
	im.add(spec.ToolLoadArtifact)
	im.role.Writes = slices.ContainsFunc(im.role.Tools, spec.WritingTool)
}

// refuse takes a tool away.
func (im *importer) refuse(name string) {
	plain, _, part := strings.Cut(name, "(")
	server, tool, ok := im.server(name)
	switch {
	case ok && tool == "":
		delete(im.role.MCPServers, server)
	case ok || part:
		im.noticef("disallowedTools: %s has no effect: Divisi can refuse only whole tools", name)
	case im.dialect.tools[plain] != "":
		im.drop(func(t string) bool { return t == im.dialect.tools[plain] })
	case im.lacking[plain] == "":
		im.noticef("disallowedTools: %s is no tool that is known here", name)
	}
}

func (im *importer) drop(unwanted func(string) bool) {
	im.role.Tools = slices.DeleteFunc(im.role.Tools, unwanted)
}

func (im *importer) add(tool string) {
	if !slices.Contains(im.role.Tools, tool) && tool != spec.ToolSubmitResult {
		im.role.Tools = append(im.role.Tools, tool)
	}
}

func (im *importer) tool(name string) {
	plain, inside, _ := strings.Cut(name, "(")
	if inside = strings.TrimSuffix(inside, ")"); inside == "*" {
		inside = ""
	}
	ours := im.dialect.tools[plain]
	switch {
	case name == "*" || strings.EqualFold(name, "all") || strings.EqualFold(name, "all tools"):
		for _, tool := range im.all {
			im.add(tool)
		}
	case strings.HasPrefix(name, "mcp_"):
		im.mcp(name)
	case ours == spec.ToolDelegate && inside != "":
		for _, who := range splitWords(inside) {
			im.role.Delegates = append(im.role.Delegates, slug(who))
		}
		im.add(ours)
	case ours != "" && inside != "":
		im.noticef("tools: %s is left out, because %s cannot be limited to some uses", name, ours)
	case ours != "":
		if plain != ours {
			im.renamed[plain] = ours
		}
		im.add(ours)
	case im.lacking[plain] != "":
		im.noticef("tools: %s is left out: %s", name, im.lacking[plain])
	default:
		im.noticef("tools: %s is left out: it is no tool of %s that is known here", name, im.program)
	}
}

// mcp takes tools of a server that the project defines.
func (im *importer) mcp(name string) {
	if name == "mcp_*" || name == "mcp__*" {
		for server := range im.project.MCPServers {
			im.serve(server, "")
		}
		return
	}
	server, tool, ok := im.server(name)
	if !ok {
		im.noticef("tools: %s is left out: the project file defines no MCP server of that name", name)
		return
	}
	im.serve(server, tool)
}

func (im *importer) server(name string) (server, tool string, ok bool) {
	if server, tool, ok = im.split(name, slices.Collect(maps.Keys(im.project.MCPServers))); ok {
		if _, ok = im.project.MCPServers[server]; !ok {
			server = strings.ReplaceAll(strings.ToLower(server), "_", "-") // as servers are named here
			_, ok = im.project.MCPServers[server]
		}
	}
	return server, tool, ok
}

// serve gives the role a tool of a server of the project, or all of them. An empty definition stands for the project's.
func (im *importer) serve(server, tool string) {
	if im.role.MCPServers == nil {
		im.role.MCPServers = map[string]spec.MCPServer{}
	}
	had, known := im.role.MCPServers[server]
	switch {
	case tool == "" || known && len(had.Tools) == 0:
		im.role.MCPServers[server] = spec.MCPServer{}
	case !slices.Contains(had.Tools, tool):
		im.role.MCPServers[server] = spec.MCPServer{Tools: append(had.Tools, tool)}
	}
}

func (im *importer) model() {
	name := im.text("model")
	if alias, ok := im.project.Models[name]; ok && name != "" && alias.Name != "" {
		im.role.Model = name
	} else if name != "" && name != "inherit" {
		im.role.Model = im.standIn(name)
	}
	if effort := strings.ToUpper(im.text("effort")); effort != "" {
		switch effort {
		case "LOW", "MEDIUM", "HIGH":
			im.role.Thinking = effort
		case "XHIGH", "MAX":
			im.role.Thinking = "HIGH"
		}
		if im.role.Thinking == "" {
			im.noticef("effort: %s is not known here", effort)
		}
	}
}

// standIn replaces one of their models; empty for the default model. A model of another service than the default's would want
// another key.
func (im *importer) standIn(name string) string {
	model, known := im.dialect.model(name)
	switch {
	case !known:
		im.noticef("model: %s is not known here, and the default model is used", name)
		return ""
	case im.project.Model(model).Provider != "" && im.project.Model(model).Provider != im.project.Model("").Provider,
		model == name && im.project.Model("").Provider == spec.ProviderOpenAI:
		im.noticef("model: the default model is used for %s, because it is served elsewhere", name)
		return ""
	case model != name:
		im.noticef("model: the alias %s stands for %s", model, name)
	}
	if model == aliasDefault {
		return ""
	}
	return model
}

func (im *importer) limits() {
	for _, name := range []string{"maxTurns", "max_turns"} {
		if n := im.count(name, math.MaxInt32); n > 0 {
			im.role.Limits.Turns = n
		}
	}
	const week = 7 * 24 * 60
	if n := im.count("timeout_mins", week); n > 0 {
		im.role.Limits.Time = spec.Duration(time.Duration(n) * time.Minute)
	}
}

// count is a field as a whole number from 1; 0 where it is none.
func (im *importer) count(name string, most int) int {
	value, given := im.fields[name]
	if !given || value == nil {
		return 0
	}
	n, err := strconv.Atoi(fmt.Sprint(value))
	if err != nil || n < 1 || n > most {
		im.noticef("%s: %v is no number from 1 to %d", name, value, most)
		return 0
	}
	return n
}

// rest reports every field that is not honoured.
func (im *importer) rest() {
	for _, name := range slices.Sorted(maps.Keys(im.fields)) {
		why, known := im.unkept[name]
		switch {
		case slices.Contains(honoured, name) || im.fields[name] == nil || im.fields[name] == "":
		case name == "mcpServers" || name == "mcp_servers":
			im.servers(im.fields[name])
		case !known:
			im.noticef("%s: the field is not known here", name)
		case why != "":
			im.noticef("%s: %s", name, why)
		}
	}
}

// honoured are the fields that importer reads.
var honoured = strings.Fields(`name description tools disallowedTools model permissionMode maxTurns max_turns timeout_mins
	effort`)

// servers takes the servers of the project that the agent names. What it defines itself is not run: it could name any program
// of this machine.
func (im *importer) servers(value any) {
	var named []string
	switch v := value.(type) {
	case string:
		named = splitWords(v)
	case []any:
		for _, one := range v {
			if table, ok := one.(map[string]any); ok {
				named = append(named, slices.Sorted(maps.Keys(table))...)
			} else {
				named = append(named, fmt.Sprint(one))
			}
		}
	case map[string]any:
		named = slices.Sorted(maps.Keys(v))
	}
	for _, name := range named {
		if _, ok := im.project.MCPServers[name]; !ok {
			im.noticef("mcp servers: define %s in .divisi/divisi.yaml, then the role has it", name)
			continue
		}
		if _, had := im.role.MCPServers[name]; !had {
			im.serve(name, "")
		}
	}
}

// instruct makes the instruction: the body as it stands, and what the tools are called here.
func (im *importer) instruct(body string) {
	text := spec.EscapeTemplate(strings.ToValidUTF8(strings.TrimSpace(body), "\ufffd"))
	text += fmt.Sprintf("\n\nThe text above was written for %s. ", im.program)
	if len(im.renamed) > 0 {
		text += "Its tools have other names here: "
		for i, theirs := range slices.Sorted(maps.Keys(im.renamed)) {
			if i > 0 {
				text += ", "
			}
			text += theirs + " is " + im.renamed[theirs]
		}
		text += ". "
	}
	im.role.Instruction = text + "Use only the tools that you have, and end with " + spec.ToolSubmitResult + "."
}
