/** The command `rotate-key`: re-encrypts everything with a new master key. Stop all servers first. */
import { randomBytes } from 'node:crypto'
import { ConfigError, loadConfig, type Config } from './config.ts'
import { redoDigests } from './domain/approvals/index.ts'
import { resealSecrets } from './domain/secrets/index.ts'
import { resealSlack, resealWebhooks } from './domain/followers/index.ts'
import { resealTriggers } from './domain/triggers/index.ts'
import { resealTokens } from './domain/upstream/index.ts'
import { startFault } from './start-fault.ts'
import { addressOf, keepKey, masterKeyOf } from './paths.ts'
import { connect } from './store/db/connect.ts'
import { atomically } from './store/db/database.ts'
import { migrate } from './store/db/migrate.ts'

/**
 * Re-encrypts secrets, tokens and the secrets of webhooks, Slack integrations and triggers, and recomputes the digests of approvals, with
 * `newSecretKey`, or with a generated key when the old one was generated. One transaction: with a wrong old key it throws and changes nothing. Returns the
 * number of rows of each kind.
 */
export async function rotateKey(
  config: Config,
): Promise<Record<'secrets' | 'tokens' | 'webhooks' | 'slack' | 'triggers' | 'approvals', number>> {
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
      webhooks: await resealWebhooks(tx, from, to),
      slack: await resealSlack(tx, from, to),
      triggers: await resealTriggers(tx, from, to),
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
  const { secrets, tokens, webhooks } = await rotateKey(config)
  const next = config.secretKey
    ? 'Start the servers with the new key as GATEHOUSE_SECRET_KEY.'
    : 'The new key is in the data directory. Start the server again.'
  process.stdout.write(
    `Re-encrypted ${secrets} secrets, ${tokens} tokens and the secrets of ${webhooks} webhooks. ${next}\n`,
  )
}

if (process.argv[1]?.match(/rotate-key\.(js|ts)$/))
  main().catch((error: unknown) => {
    const wrongKey = error instanceof Error && error.message.includes('unable to authenticate data')
    const message = 'The old master key cannot decrypt the stored secrets. Nothing was changed.'
    process.stderr.write(`${wrongKey ? message : startFault(error)}\n`)
    process.exit(1)
  })
