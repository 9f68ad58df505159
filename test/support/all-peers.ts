/** Every client of the matrix: those from npm, and the Inspector where the Node version that it needs is installed. */
import { isInstalled } from '../conformance/suite.ts'
import { inspector } from './inspector.ts'
import { peers, type OpenPeer } from './mcp-clients.ts'

if (!isInstalled)
  console.warn('The Inspector is left out. Run: npm ci --prefix tools/conformance --ignore-scripts')

export const allPeers: Record<string, OpenPeer> = {
  ...peers,
  ...(isInstalled
    ? {
        'the Inspector, legacy': inspector('legacy'),
        'the Inspector, modern': inspector('modern'),
        'the Inspector, negotiating': inspector('auto'),
      }
    : {}),
}
