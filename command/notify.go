package command

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"notwice/toolbox"
)

// notifyTime bounds a notifier: telling a person is a help, not a part of the work.
const notifyTime = 10 * time.Second

// notifier runs the command of `notify:` when something begins to wait for a person, with one line of text as its last
// argument. It sees no request, only what is waited for.
type notifier struct {
	command []string
	running sync.WaitGroup
}

func (n *notifier) tell(r toolbox.Result) {
	if len(n.command) == 0 {
		return
	}
	n.running.Go(func() { n.run(r) })
}

func (n *notifier) run(r toolbox.Result) {
	ctx, cancel := context.WithTimeout(context.Background(), notifyTime)
	defer cancel()
	line := fmt.Sprintf("%s waits for a person: notwice review show %s", r.Title, r.Number)
	cmd := exec.CommandContext(ctx, n.command[0], append(append([]string{}, n.command[1:]...), line)...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintf(os.Stderr, "notwice: notify: %v\n", err)
	}
}
