//go:build unix

package command

import (
	"os"
	"os/signal"
	"syscall"

	"notwice/journal/boltjournal"
)

// suspendGuard lets the journal go before Ctrl-Z stops the process: a stopped holder would keep all others out.
func suspendGuard(store *boltjournal.Store) (stop func()) {
	suspend := make(chan os.Signal, 1)
	done := make(chan struct{})
	signal.Notify(suspend, syscall.SIGTSTP)
	go func() {
		for {
			select {
			case <-suspend:
				store.EndTurn()
				syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(suspend)
		close(done)
	}
}
