// Package sandbox runs the commands of agents, gates and setup confined: they write only where they were told (Landlock),
// see only an allow-listed environment, and leave no process behind; their time and output are bounded. Reading and the
// network are open in this first form. What the machine cannot give is said by Probe, so that a caller can report it
// before anything runs; it is never left out silently.
package sandbox
