/** Which of several servers of an address is used. */
import { setTimeout as pause } from 'node:timers/promises'

/** A server that says nothing for so long is waited for beside the next one, in milliseconds. */
const silentMs = 1000

/**
 * Opens the servers in order, the next one as soon as one has failed, and also when it has said nothing for a second: a
 * machine that hangs accepts connections and never answers. Returns the first that opens; `discard` gets those that open
 * later. Throws the error of the last server when none does.
 */
export async function firstHost<Host, Opened>(
  hosts: readonly Host[],
  open: (host: Host) => Promise<Opened>,
  discard: (late: Opened) => void,
): Promise<Opened> {
  const tries: Promise<Opened>[] = []
  for (const host of hosts) {
    tries.push(open(host))
    const said = await Promise.race([
      Promise.any(tries).then(
        () => 'opened',
        () => 'all failed',
      ),
      tries.at(-1)!.then(
        () => 'opened',
        () => 'failed',
      ),
      pause(silentMs, 'silent', { ref: false }),
    ])
    if (said === 'opened') break
  }
  const opened = await Promise.any(tries).catch((error: AggregateError) =>
    Promise.reject(error.errors.at(-1)),
  )
  for (const one of tries)
    one.then(
      (late) => void (late !== opened && discard(late)),
      () => {},
    )
  return opened
}
