import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { TestProcess } from './test-process.js';

const START_MS = 90_000;
const run = promisify(execFile);

/** The resources that RabbitMQ can run short of, with the settings that cause it and the usual ones. */
const SHORTAGES = {
  memory: { setting: 'set_vm_memory_high_watermark', short: '0.00001', usual: '0.4' },
  disk: { setting: 'set_disk_free_limit', short: '1000000GB', usual: '50MB' },
};
export type Shortage = keyof typeof SHORTAGES;

/** A RabbitMQ of a test's own, from the installed program: that of the other tests may not be harmed. */
export class PrivateRabbit {
  private constructor(
    private readonly server: TestProcess,
    readonly url: string,
    /** Runs `rabbitmqctl` on it. */
    private readonly control: string,
  ) {}

  static async start(): Promise<PrivateRabbit> {
    const server = TestProcess.start('tools/test/private-server.mjs', ['rabbitmq'], {});
    const [, control = '', url = ''] = await server.untilPrinted(/control (\S+)\s+(amqp:\S+)/, START_MS);
    return new PrivateRabbit(server, url, control);
  }

  /** Has it run short, so that it takes no messages. Resolves when it does. */
  async runShort(of: Shortage): Promise<void> {
    const { setting, short } = SHORTAGES[of];
    await run(this.control, [setting, short]);
  }

  /** Has it take messages again. */
  async recover(of: Shortage): Promise<void> {
    const { setting, usual } = SHORTAGES[of];
    await run(this.control, [setting, usual]);
  }

  async stop(): Promise<void> {
    await this.server.stop();
  }
}
