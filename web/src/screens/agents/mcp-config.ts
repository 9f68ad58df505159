/** The entry for clients that read `mcpServers`. Pure. */
export function mcpConfig(agentName: string, url: string): string {
  const name =
    agentName
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-+|-+$/g, '') || 'gatehouse'
  const server = { type: 'http', url, headers: { Authorization: 'Bearer gh_…' } }
  return JSON.stringify({ mcpServers: { [name]: server } }, null, 2)
}
