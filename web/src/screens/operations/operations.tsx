/** What keeps the installation running: unknown calls, keys, secrets, webhooks, providers, files, sessions, audit. */
import './operations.css'
import { Link } from 'wouter'
import { Empty } from '../../parts/states.tsx'
import { Audit } from './audit.tsx'
import { Files } from './files.tsx'
import { Keys } from './keys.tsx'
import { Providers } from './providers.tsx'
import { Secrets } from './secrets.tsx'
import { Sessions } from './sessions.tsx'
import { UnknownCalls } from './unknown-calls.tsx'
import { Webhooks } from './webhooks.tsx'

const tabs = [
  { tab: 'unknown', name: 'Unknown calls', Screen: UnknownCalls },
  { tab: 'keys', name: 'Keys', Screen: Keys },
  { tab: 'secrets', name: 'Secrets', Screen: Secrets },
  { tab: 'webhooks', name: 'Webhooks', Screen: Webhooks },
  { tab: 'providers', name: 'Providers', Screen: Providers },
  { tab: 'files', name: 'Files', Screen: Files },
  { tab: 'sessions', name: 'Sessions', Screen: Sessions },
  { tab: 'audit', name: 'Audit', Screen: Audit },
] as const

export function Operations({ tab }: { tab: string }) {
  const shown = tabs.find((one) => one.tab === tab)
  return (
    <>
      <header className="screen-head">
        <h1>Operations</h1>
        <nav className="segments" aria-label="Operations">
          {tabs.map((one) => (
            <Link
              key={one.tab}
              href={`/operations/${one.tab}`}
              className="button"
              aria-current={one.tab === tab ? 'page' : undefined}
            >
              {one.name}
            </Link>
          ))}
        </nav>
      </header>
      <div className="screen-body">
        {shown ? (
          <shown.Screen />
        ) : (
          <Empty title="There is nothing at this address">
            <Link href="/operations/unknown">Unknown calls</Link>
          </Empty>
        )}
      </div>
    </>
  )
}
