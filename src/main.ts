/** Reads the configuration, starts the server, and stops it on SIGTERM or SIGINT. */
import { createApp, type App } from './app.ts'
import { ConfigError, loadConfig, type Config } from './config.ts'
import { banner } from './banner.ts'

async function main(): Promise<void> {
  const config = loadConfig()
  let app: App | null = null
  // First of all: process 1 of a container ignores signals without a handler.
  const stop = () => {
    // Exiting during the start is safe, because a crash at any moment is.
    if (!app) process.exit(0)
    void stopAndExit(app, config)
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  app = await createApp(config)
  process.stdout.write(banner(app, config))
}

/** Added to drain and grace before the process is forced to exit, in milliseconds. */
const marginMs = 1500

async function stopAndExit(app: App, { drainMs, graceMs }: Config): Promise<void> {
  setTimeout(() => process.exit(1), drainMs + graceMs + marginMs).unref()
  await app.stop()
  process.exit(0)
}

main().catch((error: unknown) => {
  const expected =
    error instanceof ConfigError || (error instanceof Error && error.name === 'DirectoryInUseError')
  const inUse = (error as { code?: string }).code === 'EADDRINUSE'
  if (expected) process.stderr.write(`${(error as Error).message}\n`)
  else if (inUse) process.stderr.write('The port is in use. Choose another one with GATEHOUSE_PORT.\n')
  else process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
  process.exit(1)
})
