/** Why an address could not be listened on, by the setting that names it. */
import { ConfigError } from './config.ts'

/** The settings that name a host and a port: the same one where it has both. */
export interface ListenSettings {
  host: string
  port: string
}

/**
 * What `listening` resolves to. Rejects with a ConfigError that names the setting to change, where one could help; else as it does.
 */
export async function namingSettings<Result>(
  listening: Promise<Result>,
  { host, port }: ListenSettings,
): Promise<Result> {
  try {
    return await listening
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const faults: Record<string, string> = {
      EADDRINUSE: `${port} names a port that is in use: choose another one`,
      EACCES: `${port} names a port that this user may not listen on: choose one from 1024 on`,
      EADDRNOTAVAIL: `${host} names an address that this machine does not have: 0.0.0.0 is all of them`,
      EAFNOSUPPORT: `${host} names an IPv6 address, and this machine has no IPv6: 0.0.0.0 is all addresses`,
      ENOTFOUND: `${host} names a host that is not found`,
      EAI_AGAIN: `${host} names a host that cannot be looked up now`,
    }
    const fault = code === undefined ? undefined : faults[code]
    throw fault === undefined ? error : new ConfigError([fault])
  }
}
