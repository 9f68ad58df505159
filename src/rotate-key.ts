/** The command that changes the master key: everything sealed is sealed anew, in one transaction. Stop all servers first. */
import { randomBytes } from 'node:crypto'
import { ConfigError, loadConfig, type Config } from './config.ts'
import { redoDigests } from './domain/approvals/index.ts'
import { resealSecrets } from './domain/secrets/index.ts'
import { resealTokens } from './domain/upstream/index.ts'
import { addressOf, keepKey, masterKeyOf } from './paths.ts'
import { connect } from './store/db/connect.ts'
import { atomically } from './store/db/database.ts'
import { migrate } from './store/db/migrate.ts'

/**
 * Seals secrets and tokens under `newSecretKey`; without it, and with a generated key, under a new generated one. All or
 * nothing: an old key that does not fit leaves everything as it is. Answers how much was sealed anew.
 */
export async function rotateKey(
  config: Config,
): Promise<{ secrets: number; tokens: number; approvals: number }> {
  if (config.secretKey && !config.newSecretKey)
    throw new ConfigError(['GATEHOUSE_NEW_SECRET_KEY is required (try: openssl rand -base64 32)'])
  const connection = await connect(addressOf(config))
  try {
    await migrate(connection)
    const from = await masterKeyOf(config)
    const to = config.newSecretKey ?? randomBytes(32)
    const kept = config.secretKey ? null : await keepKey(config.dataDir, to)
    const done = await atomically(connection.db, async (tx) => ({
      secrets: await resealSecrets(tx, from, to),
      tokens: await resealTokens(tx, from, to),
      approvals: await redoDigests(tx, from, to),
    }))
    await kept?.commit()
    return done
  } finally {
    await connection.close()
  }
}

async function main(): Promise<void> {
  const config = loadConfig()
  const { secrets, tokens } = await rotateKey(config)
  const next = config.secretKey
    ? 'Start the servers with the new key as GATEHOUSE_SECRET_KEY.'
    : 'The new key stands beside the data; start the server as before.'
  process.stdout.write(`${secrets} secrets and ${tokens} tokens are sealed anew. ${next}\n`)
}

if (process.argv[1]?.match(/rotate-key\.(js|ts)$/))
  main().catch((error: unknown) => {
    const unfit = error instanceof Error && error.message.includes('unable to authenticate data')
    const message = unfit
      ? 'The present key does not open what is sealed. Nothing was changed.'
      : String(error)
    process.stderr.write(`${error instanceof ConfigError ? error.message : message}\n`)
    process.exit(1)
  })
