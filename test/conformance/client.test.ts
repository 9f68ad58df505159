/** The suite judges our own client of upstreams: the scenarios where most can go wrong. All of them are in test/slow. */
import { judgeClient } from './client-judge.ts'

const wanted = {
  '2025-11-25': ['tools_call', 'elicitation-sep1034-client-defaults', 'auth/scope-step-up'],
  '2026-07-28': [
    'http-custom-headers',
    'sep-2322-client-request-state',
    'auth/metadata-var3',
    'auth/pre-registration',
    'auth/iss-wrong-issuer',
    'auth/authorization-server-migration',
    'auth/client-credentials-jwt',
  ],
}

await judgeClient('2025-11-25', (scenario) => wanted['2025-11-25'].includes(scenario))
await judgeClient('2026-07-28', (scenario) => wanted['2026-07-28'].includes(scenario))
