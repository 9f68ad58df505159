/** Reads the configuration, opens the house, and closes it on a signal. */
import { createApp, type App } from './app.ts'
import { ConfigError, loadConfig } from './config.ts'
import { welcome } from './welcome.ts'

async function main(): Promise<void> {
  const config = loadConfig()
  const app = await createApp(config)
  process.stdout.write(welcome(app, config))
  const stop = () => void stopAndExit(app)
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
}

/** A second later than the drain: something must hang to need it. */
const hardLimitMs = 9500

async function stopAndExit(app: App): Promise<void> {
  setTimeout(() => process.exit(1), hardLimitMs).unref()
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
