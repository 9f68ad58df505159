/** The entry point of secrets. */
export { seal, unseal } from './sealing.ts'
export {
  deleteSecret,
  fillSecrets,
  listSecrets,
  faultOfUse,
  openSecrets,
  openSecretsAhead,
  resealSecrets,
  secretNames,
  SecretRefusedError,
  setSecret,
  Secret,
} from './secrets.ts'
