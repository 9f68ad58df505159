/** How MCP clients reach an agent. */
import { Link } from 'wouter'
import { CopyId } from '../../parts/copy-id.tsx'
import { CopyText } from '../../parts/copy-text.tsx'
import type { AgentDetail } from './documents.ts'
import { mcpConfig } from './mcp-config.ts'
import { t, T } from '../../texts/texts.tsx'

export function Connect({ agent }: { agent: AgentDetail }) {
  const url = `${location.origin}/mcp/${agent.id}`
  return (
    <section className="stack fields" aria-label={t('MCP clients')}>
      {!agent.mcp.enabled && (
        <p className="tone-warn">
          <T
            text="It is not served to MCP clients now: switch that on in its {link}."
            link={<Link href={`/agents/${agent.id}`}>{t('definition')}</Link>}
          />
        </p>
      )}
      <p>
        <span className="label">{t('Address')}</span>
        <CopyId id={url} label={t('address')} />
      </p>
      <h2>{t('For clients with mcpServers')}</h2>
      <CopyText text={mcpConfig(agent.name, url)} label={t('snippet')} />
      <p className="mute">
        <T
          text="Put an API key of this project in place of gh_…; one that is bound to this agent may do nothing else. {link}"
          link={<Link href="/people/programs">{t('Create a key')}</Link>}
        />
      </p>
      <h2>{t('To look at it from a shell')}</h2>
      <CopyText
        label={t('command')}
        text={`curl -s ${url} \\\n  -H 'X-Agent-API-Key: gh_…' \\\n  -H 'content-type: application/json' \\\n  -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`}
      />
    </section>
  )
}
