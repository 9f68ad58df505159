/** Reads the configuration, opens the server, and closes it on a signal. */
import { createApp, type App } from './app.ts'
import { ConfigError, loadConfig, type Config } from './config.ts'
import { banner } from './banner.ts'

async function main(): Promise<void> {
  const config = loadConfig()
  let app: App | null = null
  // Before anything else: the first process of a container ignores signals that nobody listens to.
  const stop = () => {
    // What is half open has promised nothing yet, and a crash at any moment is survived.
    if (!app) process.exit(0)
    void stopAndExit(app, config)
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  app = await createApp(config)
  process.stdout.write(banner(app, config))
}

/** More than the drain and the grace: something must hang to need it. */
const marginMs = 1500

async function stopAndExit(app: App, { drainMs, graceMs }: Config): Promise<void> {
  setTimeout(() => process.exit(1), drainMs + graceMs + marginMs).unref()
  await app.stop()
  process.exit(0)
}

main().catch((error: unknown) => {
  const expected =
    error instanceof ConfigError || (error instanceof Error && error.name === 'DirectoryInUseError')
  const taken = (error as { code?: string }).code === 'EADDRINUSE'
  if (expected) process.stderr.write(`${(error as Error).message}\n`)
  else if (taken) process.stderr.write('The port is taken. Choose another with GATEHOUSE_PORT.\n')
  else process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
  process.exit(1)
})
