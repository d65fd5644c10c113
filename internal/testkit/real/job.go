package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
)

// job is one run of Divisi: a role that runs a script, and a plan with the files that it changes.
type job struct {
	change change
	// wrong makes one shard wrong; set lands the change as one commit, with a task for each of these files, or for each of their
	// directories.
	wrong *wrong
	set   []string
}

// write writes role and plan into a directory and returns their paths. JSON is YAML.
func (j *job) write(dir string) (role, plan string, err error) {
	role, plan = filepath.Join(dir, "role.md"), filepath.Join(dir, "plan.yaml")
	command, err := json.Marshal([]string{"sh", "-c", j.change.script(j.wrong), "sh", "{files}"})
	if err != nil {
		return "", "", err
	}
	text := fmt.Sprintf("---\nname: mod\ndescription: Makes one change.\nexecutor: command\njoin: true\n"+
		"command: %s\n---\nIt runs sed.\n", command)
	data, err := json.Marshal(map[string]any{"goal": "Make one change", "tasks": j.tasks()})
	if err != nil {
		return "", "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", "", err
	}
	if err := os.WriteFile(role, []byte(text), 0o644); err != nil {
		return "", "", err
	}
	return role, plan, os.WriteFile(plan, data, 0o644)
}

func (j *job) tasks() (tasks []map[string]any) {
	task := func(id string) map[string]any {
		return map[string]any{"id": id, "title": "Make the change", "role": "mod", "brief": "Run the script.", "remaining": "ok"}
	}
	if len(j.set) == 0 {
		one := task("mod")
		one["shard"] = map[string]any{"by": j.change.By, "match": j.change.Match, "glob": j.change.Glob}
		return append(tasks, one)
	}
	files := map[string][]string{}
	var of []string
	for _, file := range j.set {
		key := file
		if j.change.By == "dir" {
			key = path.Dir(file)
		}
		if files[key] == nil {
			of = append(of, key)
		}
		files[key] = append(files[key], file)
	}
	for i, key := range of {
		one := task(fmt.Sprintf("mod-%02d", i+1))
		one["change_set"], one["files"] = "mod", files[key]
		delete(one, "remaining")
		tasks = append(tasks, one)
	}
	return tasks
}
