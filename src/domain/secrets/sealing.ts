/**
 * Encryption with AES-256-GCM. The context, such as project and name, is authenticated: no other context decrypts the
 * text.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const version = 'v1'
const nonceBytes = 12
const tagBytes = 16

export function seal(masterKey: Buffer, plain: string, context: string): string {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', masterKey, nonce).setAAD(Buffer.from(context))
  const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
  return `${version}.${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')}`
}

/** The plain text. Throws when the key or the context is another one, or the text was altered. */
export function unseal(masterKey: Buffer, text: string, context: string): string {
  const [found, body] = text.split('.')
  if (found !== version || !body) throw new Error('The encrypted text has an unknown format.')
  const bytes = Buffer.from(body, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', masterKey, bytes.subarray(0, nonceBytes))
  decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes))
  return Buffer.concat([decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]).toString(
    'utf8',
  )
}
