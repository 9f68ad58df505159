/** Reads the configuration, starts the server, and stops it on SIGTERM or SIGINT. */
import { createApp, type App } from './app.ts'
import { loadConfig, type Config } from './config.ts'
import { banner } from './banner.ts'
import { adminKeyFile, keptAdminKey } from './paths.ts'
import { startFault } from './start-fault.ts'
import { canSupervise, findSupervisor, supervise } from './supervisor.ts'

async function main(): Promise<void> {
  const config = loadConfig()
  const supervisor = findSupervisor()
  if (!supervisor && canSupervise(config)) return supervise(config)
  let app: App | null = null
  // First of all: process 1 of a container ignores signals without a handler.
  const stop = () => {
    // Exiting during the start is safe, because a crash at any moment is.
    if (!app) process.exit(0)
    void stopAndExit(app, config)
  }
  process.once('SIGTERM', stop)
  if (supervisor) supervisor.onStop(stop)
  else process.once('SIGINT', stop)
  // What is not a terminal is usually a log, and so is the terminal of a container.
  const kept = process.stdout.isTTY && !config.production ? null : adminKeyFile(config.dataDir)
  app = await createApp(config, {
    ...(kept ? { keepAdminKey: () => keptAdminKey(kept) } : {}),
    ...(supervisor ? { supervisor } : {}),
  })
  process.stdout.write(banner(app, config, kept))
}

/** Added to drain and grace before the process is forced to exit, in milliseconds. */
const marginMs = 1500

async function stopAndExit(app: App, { drainMs, graceMs }: Config): Promise<void> {
  setTimeout(() => process.exit(1), drainMs + graceMs + marginMs).unref()
  await app.stop()
  process.exit(0)
}

main().catch((error: unknown) => {
  process.stderr.write(`${startFault(error)}\n`)
  process.exit(1)
})
