import { Injectable } from '@nestjs/common';
import { Database } from '#database';

/** When rotations of the deployment's secret were complete. */
@Injectable()
export class SecretRotationsRepository {
  constructor(private readonly database: Database) {}

  /**
   * Keeps the time of before where the key has been the only one since then.
   * @param isChanged whether something had to be sealed anew: then it was complete only now
   */
  async note(keyId: string, isChanged: boolean): Promise<void> {
    await this.database.query(
      `INSERT INTO accounts.secret_rotations AS noted (key_id) VALUES ($1)
       ON CONFLICT ON CONSTRAINT secret_rotations_pkey
       DO UPDATE SET completed_at = CASE WHEN $2 OR EXISTS (
         SELECT 1 FROM accounts.secret_rotations AS other
          WHERE other.key_id <> noted.key_id AND other.completed_at > noted.completed_at)
         THEN now() ELSE noted.completed_at END`,
      [keyId, isChanged],
    );
  }

  async find(keyId: string): Promise<Date | undefined> {
    const [row] = await this.database.query<{ completedAt: Date }>(
      'SELECT completed_at AS "completedAt" FROM accounts.secret_rotations WHERE key_id = $1',
      [keyId],
    );
    return row?.completedAt;
  }
}
