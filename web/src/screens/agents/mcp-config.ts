/** The entry for clients that read `mcpServers`. Pure. */
import { writeJson } from '../../../../src/core/exact-json.ts'
export function mcpConfig(agentName: string, url: string): string {
  const name =
    agentName
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-+|-+$/g, '') || 'gatehouse'
  const server = { type: 'http', url, headers: { Authorization: 'Bearer gh_…' } }
  return writeJson({ mcpServers: { [name]: server } }, 2)
}
