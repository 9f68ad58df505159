/** Metadata and answers of authorization servers as they are found: null and empty text are absent, and a number may be text. */
import {
  isJsonObject,
  type Json,
  type JsonObject,
  tryParseForeignJson,
  writeJson,
} from '../../../core/json.ts'
import { remade } from '../wire/wire.ts'

/** The response with a body that the SDK accepts, if it is JSON. */
export async function readAuthAnswer(response: Response): Promise<Response> {
  if (!response.body) return response
  const text = await response.text()
  const answer = tryParseForeignJson(text)
  return remade(response, isJsonObject(answer) ? writeJson(readTokens(cleaned(answer))) : text)
}

function cleaned(object: JsonObject): JsonObject {
  const given = Object.entries(object).filter(([, value]) => value !== null && value !== '')
  return Object.fromEntries(given.map(([name, value]) => [name, cleanedValue(value)]))
}

function cleanedValue(value: Json): Json {
  if (Array.isArray(value)) return value.filter((one) => one !== null).map(cleanedValue)
  return isJsonObject(value) ? cleaned(value) : value
}

/** Metadata is left as it is. */
function readTokens(answer: JsonObject): JsonObject {
  const { access_token: token, token_type: type, expires_in: seconds, scope, ...others } = answer
  if (typeof token !== 'string') return answer
  const lifetime = Number(seconds)
  return {
    ...others,
    access_token: token,
    token_type: typeof type === 'string' ? type : 'Bearer',
    // A lifetime that cannot be read is not known.
    ...(Number.isFinite(lifetime) ? { expires_in: lifetime } : {}),
    ...(Array.isArray(scope) ? { scope: scope.join(' ') } : typeof scope === 'string' ? { scope } : {}),
  }
}
